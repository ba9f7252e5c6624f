/** Cuts of text that fits somewhere. Guarantees: none ends or begins with half of a surrogate pair that it has cut. */

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

/** Whether a cut before that place divides a pair. */
const dividesPair = (text: string, at: number): boolean =>
  at > 0 && at < text.length && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at))

/** The first UTF-16 units of a text, at most `most`. */
export const firstCharacters = (text: string, most: number): string => {
  if (text.length <= most) return text
  return text.slice(0, dividesPair(text, most) ? most - 1 : most)
}

/** The text from that place on, or from the next character if the place is inside of one. */
export const charactersFrom = (text: string, at: number): string =>
  text.slice(dividesPair(text, at) ? at + 1 : at)
