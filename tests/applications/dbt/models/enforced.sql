select id, name from {{ ref('customers') }}
