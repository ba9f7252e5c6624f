/**
 * One row of a diff: its numbers, signs, and the text of its lines with syntax colours. Signs repeat the meaning of colours. Words that differ
 * between a removed line and the line that replaces it have marks.
 *
 * Guarantees: without the marked words and white space, both lines are the same. The time to find them is linear in the length of the lines: only a
 * middle of few words is compared word by word.
 */
import { memo, useMemo, useState } from "react"
import { Tokens, useHighlighter } from "../markdown/Code.tsx"
import type { Token } from "../markdown/Highlighter.ts"
import "../markdown/markdown.css"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import "./diff.css"
import { diffMessages } from "./messages.ts"
import type { DiffEntry, DiffSide } from "./rows.ts"

export interface TextRange {
  readonly from: number
  readonly to: number
}

interface WordChanges {
  readonly before: ReadonlyArray<TextRange>
  readonly after: ReadonlyArray<TextRange>
}

/** Longer lines have no marks. */
const LONGEST = 2_000
/** Most pairs of words that are compared. A larger middle is marked as a whole. */
const MOST_PAIRS = 10_000
/** Lines that share less than this part of their text have no marks: they would mark everything. */
const LEAST_SHARED = 0.25

const none: WordChanges = { before: [], after: [] }

/** Letters and digits, white space, or one sign. */
const word = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu
/** One Chinese or Japanese character, or letters of other scripts. */
const syllable = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+/gu

/** Words of a line. A text without spaces between its words is compared by characters. */
const wordsOf = (line: string): ReadonlyArray<string> =>
  (line.match(word) ?? []).flatMap((each) => each.match(syllable) ?? [])

/** Whether each word of the two texts is in their longest common sequence. */
const commonWords = (
  before: ReadonlyArray<string>,
  after: ReadonlyArray<string>
): readonly [ReadonlyArray<boolean>, ReadonlyArray<boolean>] => {
  const width = after.length + 1
  const longest = new Uint16Array((before.length + 1) * width)
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      longest[i * width + j] =
        before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const [inBefore, inAfter] = [before.map(() => false), after.map(() => false)]
  for (let i = 0, j = 0; i < before.length && j < after.length;) {
    if (before[i] === after[j]) {
      inBefore[i++] = true
      inAfter[j++] = true
    } else if (at(i + 1, j) >= at(i, j + 1)) i++
    else j++
  }
  return [inBefore, inAfter]
}

const isBlank = (word: string | undefined): boolean => word !== undefined && /^\s/.test(word)

/** Ranges of the words that are not common. White space between two of them belongs to both. */
const rangesOf = (
  words: ReadonlyArray<string>,
  isCommon: (at: number) => boolean
): ReadonlyArray<TextRange> => {
  const ranges: Array<TextRange> = []
  let offset = 0
  words.forEach((word, at) => {
    const [from, to] = [offset, offset + word.length]
    offset = to
    const last = ranges.at(-1)
    const joins = isBlank(word) && last?.to === from && at + 1 < words.length && !isCommon(at + 1)
    if (isCommon(at) && !joins) return
    if (last?.to === from) ranges[ranges.length - 1] = { from: last.from, to }
    else ranges.push({ from, to })
  })
  return ranges
}

const lengthOf = (words: ReadonlyArray<string>): number =>
  words.reduce((sum, word) => sum + (isBlank(word) ? 0 : word.length), 0)

export const wordChanges = (removed: string, added: string): WordChanges => {
  if (removed.length > LONGEST || added.length > LONGEST || removed === added) return none
  const [before, after] = [wordsOf(removed), wordsOf(added)]
  const shortest = Math.min(before.length, after.length)
  let start = 0
  while (start < shortest && before[start] === after[start]) start++
  let end = 0
  while (end < shortest - start && before.at(-1 - end) === after.at(-1 - end)) end++
  const middles = [before, after].map((words) => words.slice(start, words.length - end))
  const [left = [], right = []] = middles
  const isSmall = left.length * right.length <= MOST_PAIRS
  const [inLeft, inRight] = isSmall
    ? commonWords(left, right)
    : [left.map(() => false), right.map(() => false)]
  const shared = lengthOf(before) - lengthOf(left.filter((_, at) => inLeft[at] !== true))
  if (shared < LEAST_SHARED * Math.max(lengthOf(before), lengthOf(after))) return none
  const isCommonIn = (words: ReadonlyArray<string>, marks: ReadonlyArray<boolean>) => (at: number) =>
    at < start || at >= words.length - end || marks[at - start] === true
  return {
    before: rangesOf(before, isCommonIn(before, inLeft)),
    after: rangesOf(after, isCommonIn(after, inRight))
  }
}

/**
 * Marks ranges of highlighted code. Tokens keep their classes; a marked piece gets its own class. `ranges` are in order and do not overlap.
 * Linear in the number of tokens and ranges.
 */
export const markTokens = (
  tokens: ReadonlyArray<Token>,
  ranges: ReadonlyArray<TextRange>,
  className: string
): ReadonlyArray<Token> => {
  if (ranges.length === 0) return tokens
  let [offset, next] = [0, 0]
  const cut = (text: string): ReadonlyArray<Token> => {
    const pieces: Array<Token> = []
    const end = offset + text.length
    let at = offset
    while (at < end) {
      while ((ranges[next]?.to ?? Number.POSITIVE_INFINITY) <= at) next++
      const { from, to } = ranges[next] ?? { from: end, to: end }
      const isMarked = from <= at
      const until = Math.min(end, isMarked ? to : from)
      const piece = text.slice(at - offset, until - offset)
      pieces.push(isMarked ? { className, children: [piece] } : piece)
      at = until
    }
    offset = end
    return pieces
  }
  const mark = (all: ReadonlyArray<Token>): ReadonlyArray<Token> =>
    all.flatMap((token) =>
      typeof token === "string" ? cut(token) : [{ ...token, children: mark(token.children) }]
    )
  return mark(tokens)
}

/** Characters of a line that are shown at first, and with each step. */
const FIRST = 2_000
const STEP = 20_000
/** Longer lines have no syntax colours. */
const COLOURED = 500

/** What users expanded, so that a row that scrolls out of sight and back is the same. */
const expanded = new WeakMap<DiffSide, number>()

const changedIn = ({ mark, other }: DiffSide, line: string) => {
  if (other === undefined || line.length > FIRST || other.length > FIRST) return []
  const before = visibleText(other)
  return mark === "-" ? wordChanges(line, before).before : wordChanges(before, line).after
}

interface LineTextProps {
  readonly side: DiffSide
  readonly language: string | undefined
}

/** Text of a changed line: syntax colours, marks on changed words, and a button for the rest of a long line. */
const LineText = memo(({ language, side }: LineTextProps) => {
  const messages = useMessages(diffMessages)
  const [most, setMost] = useState(expanded.get(side) ?? FIRST)
  const { text } = side
  const highlighter = useHighlighter(language !== undefined && text.length <= COLOURED)
  const tokens = useMemo(() => {
    const line = visibleText(text.slice(0, most))
    const colours = language === undefined ? undefined : highlighter?.tokenize(line, language)
    return markTokens(colours ?? [line], text.length > most ? [] : changedIn(side, line), "diff-word")
  }, [highlighter, language, most, side, text])
  const showMore = () => {
    expanded.set(side, most + STEP)
    setMost(most + STEP)
  }
  return (
    <>
      <Tokens tokens={tokens} />
      {text.length > most && (
        <button type="button" className="clipped-more" onClick={showMore}>
          {messages.moreCharacters(Math.min(STEP, text.length - most))}
        </button>
      )}
    </>
  )
})

const toneOf = (side: DiffSide | undefined): string => {
  if (side === undefined) return "diff-none"
  return side.mark === "+" ? "diff-added" : side.mark === "-" ? "diff-removed" : ""
}

interface HalfProps {
  readonly side: DiffSide | undefined
  readonly of: "old" | "new"
  readonly language: string | undefined
}

const Half = ({ language, of, side }: HalfProps) => (
  <>
    <span className={`diff-number ${toneOf(side)}`} data-side={of}>
      {side?.number}
    </span>
    <code className={`diff-text ${toneOf(side)}`} data-side={of}>
      <span className="diff-mark">{side?.mark ?? " "}</span>
      {side !== undefined && <LineText side={side} language={language} />}
    </code>
  </>
)

interface DiffRowProps {
  readonly row: DiffEntry
  readonly language: string | undefined
}

export const DiffRow = memo(({ language, row }: DiffRowProps) => {
  const messages = useMessages(diffMessages)
  switch (row.kind) {
    case "hunk":
      return <div className="diff-hunk">{messages.hunk(row.from, row.to)}</div>
    case "note":
      return <div className="diff-row diff-note">{visibleText(row.text)}</div>
    case "line": {
      const tone = toneOf(row.side)
      const of = row.side.mark === "-" ? "old" : "new"
      return (
        <div className="diff-row diff-line">
          <span className={`diff-number ${tone}`} data-side={of}>
            {row.old}
          </span>
          <span className={`diff-number ${tone}`} data-side={of}>
            {row.new}
          </span>
          <code className={`diff-text ${tone}`} data-side={of}>
            <span className="diff-mark">{row.side.mark}</span>
            <LineText side={row.side} language={language} />
          </code>
        </div>
      )
    }
    case "pair":
      return (
        <div className="diff-row diff-pair">
          <Half side={row.old} of="old" language={language} />
          <Half side={row.new} of="new" language={language} />
        </div>
      )
  }
})
