{{ config(materialized='materialized_view') }} select customer, max(at) as last from {{ ref('orders') }} group by customer
