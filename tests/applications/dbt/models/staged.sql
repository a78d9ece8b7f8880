{{ config(materialized='view') }} select id, name, since from {{ ref('customers') }}
