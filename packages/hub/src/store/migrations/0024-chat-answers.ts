/** Chats that receive the text of answers, per project. */
export const chatAnswersMigration = [
  `ALTER TABLE projects ADD COLUMN chat_answers text NOT NULL DEFAULT 'direct'`
]
