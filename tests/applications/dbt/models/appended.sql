{{ config(materialized='incremental', incremental_strategy='append') }} select id, now() as seen from {{ ref('orders') }}
