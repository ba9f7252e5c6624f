/** Ranking of items by a query, and the parts of a text that match it. Pure; work is bounded by the length of query and text. */

const MAX_QUERY = 200
const MAX_WORDS = 10
const MAX_TEXT = 400

/** Lowercase with the same length, so that positions stay. */
export const foldCase = (text: string): string => {
  const folded = text.toLowerCase()
  if (folded.length === text.length) return folded
  // A few letters, such as `İ`, have no lowercase of one character.
  return text.replaceAll(/./gsu, (character) => {
    const lower = character.toLowerCase()
    return lower.length === character.length ? lower : character
  })
}

export const queryWords = (query: string): ReadonlyArray<string> =>
  foldCase(query.slice(0, MAX_QUERY))
    .split(/\s+/)
    .filter((word) => word !== "")
    .slice(0, MAX_WORDS)

const isLetter = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}]/u.test(character)

const initialsOf = (text: string): string =>
  text
    .split(/[^\p{L}\p{N}]+/u)
    .map((word) => word.slice(0, 1))
    .join("")

/** 4: begins the text; 3: begins a word; 2: is in it; 1: its initials; 0: none. */
const wordScore = (word: string, text: string, initials: string): number => {
  if (text.startsWith(word)) return 4
  let at = text.indexOf(word)
  if (at === -1) return word.length > 1 && initials.includes(word) ? 1 : 0
  for (; at !== -1; at = text.indexOf(word, at + 1)) if (!isLetter(text[at - 1])) return 3
  return 2
}

interface Searchable {
  readonly title: string
  readonly detail?: string | undefined
  readonly words?: string
}

const scoreOf = (
  words: ReadonlyArray<string>,
  { detail = "", title, words: more = "" }: Searchable
): number => {
  const name = foldCase(title.slice(0, MAX_TEXT))
  const rest = foldCase(`${detail} ${more}`.slice(0, MAX_TEXT))
  const initials = initialsOf(name)
  let total = 0
  for (const word of words) {
    const score = wordScore(word, name, initials) * 2 || wordScore(word, rest, "")
    if (score === 0) return 0
    total += score
  }
  // Of equal matches, the one with less around it.
  return total + 1 / (2 + name.length)
}

/** The best matches of every word of the query, at most `most`. Equal ones keep their order. */
export const ranked = <A extends Searchable>(
  query: string,
  items: ReadonlyArray<A>,
  most: number
): ReadonlyArray<A> => {
  const words = queryWords(query)
  if (words.length === 0) return items.slice(0, most)
  return items
    .map((item) => ({ item, score: scoreOf(words, item) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ item }) => item)
}

export interface TextPiece {
  readonly text: string
  readonly isMatch: boolean
}

/** The text in pieces, those that match a word of the query marked. */
export const markedPieces = (text: string, query: string): ReadonlyArray<TextPiece> => {
  const folded = foldCase(text)
  const isMarked = Array.from({ length: text.length }, () => false)
  for (const word of queryWords(query))
    for (let at = folded.indexOf(word); at !== -1; at = folded.indexOf(word, at + word.length))
      isMarked.fill(true, at, at + word.length)
  const pieces: Array<{ text: string; isMatch: boolean }> = []
  for (let at = 0; at < text.length; at++) {
    const isMatch = isMarked[at] ?? false
    const last = pieces.at(-1)
    if (last === undefined || last.isMatch !== isMatch) pieces.push({ text: text.charAt(at), isMatch })
    else last.text += text.charAt(at)
  }
  return pieces
}
