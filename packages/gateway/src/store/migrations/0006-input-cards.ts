/** Cards of questions, forms and plans. Their texts stay at the Hub. */
export const inputCards = [
  `CREATE TABLE input_cards (
    input_id text PRIMARY KEY,
    follow_id text NOT NULL REFERENCES follows (id) ON DELETE CASCADE,
    asked text NOT NULL,
    message_id text,
    state text NOT NULL,
    asked_at timestamptz NOT NULL
  )`,
  `CREATE INDEX input_cards_by_follow ON input_cards (follow_id)`,
  `CREATE INDEX follows_by_run ON follows (run_id) WHERE run_id IS NOT NULL`
]
