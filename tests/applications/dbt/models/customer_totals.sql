{{ config(indexes=[{'columns': ['id'], 'unique': true}, {'columns': ['total']}], post_hook="analyze {{ this }}") }}
select s.id, s.name, coalesce(p.n, 0) as orders, coalesce(p.total, 0)::numeric(10, 2) as total
from {{ ref('staged') }} s left join {{ ref('per_customer') }} p on p.customer = s.id
