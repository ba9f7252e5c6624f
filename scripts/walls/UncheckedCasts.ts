/** Casts through `unknown`, which the compiler does not check, without a comment that says why they hold. */

const CAST = /\bas unknown as\b/
const COMMENT = /\/\/|\*\//
/** Lines above a cast in which its comment may be: a cast can be the end of a longer expression. */
const ABOVE = 4

/** Lines of such casts. */
export const uncheckedCastsIn = (text: string): ReadonlyArray<number> => {
  if (!CAST.test(text)) return []
  const lines = text.split("\n")
  return lines.flatMap((line, at) => {
    const code = line.replace(/^\s*(?:\/\/|\*).*$/, "")
    const near = lines.slice(Math.max(0, at - ABOVE), at + 1)
    return CAST.test(code) && !near.some((each) => COMMENT.test(each)) ? [at + 1] : []
  })
}
