{{ config(materialized='incremental', unique_key='day', on_schema_change='append_new_columns') }}
select at::date as day, count(*) as n, sum(amount) as total from {{ ref('orders') }}
{% if is_incremental() %} where at::date >= (select max(day) from {{ this }}) {% endif %}
group by 1
