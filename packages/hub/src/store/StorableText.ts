/** Text of a runtime as a column can store it: PostgreSQL takes neither U+0000 nor half a surrogate pair. */
export const storableText = (text: string): string => text.replaceAll("\0", "").toWellFormed()
