/** A text as a literal of SQL. */
export const sql = (text: string): string => `'${text.replaceAll("'", "''")}'`
