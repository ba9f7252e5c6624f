/** The text without that character at its end, however often it stands there. */
export const withoutTrailing = (text: string, character: string): string => {
  let end = text.length
  while (end > 0 && text.charAt(end - 1) === character) end--
  return text.slice(0, end)
}
