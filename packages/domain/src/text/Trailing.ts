/** The text without trailing repetitions of `character`. */
export const withoutTrailing = (text: string, character: string): string => {
  let end = text.length
  while (end > 0 && text.charAt(end - 1) === character) end--
  return text.slice(0, end)
}
