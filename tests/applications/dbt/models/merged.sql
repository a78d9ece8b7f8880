{{ config(materialized='incremental', unique_key='id', incremental_strategy='merge') }}
select id, amount, updated from {{ ref('orders') }} {% if is_incremental() %} where updated >= (select max(updated) from {{ this }}) {% endif %}
