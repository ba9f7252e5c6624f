/**
 * One row of a diff: its numbers, signs, and the text of its lines with syntax colours and marks on changed words. Signs repeat the meaning of
 * colours.
 */
import { memo, useMemo, useState } from "react"
import { Tokens, useHighlighter } from "../markdown/Code.tsx"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { markTokens, wordChanges } from "./wordChanges.ts"
import { diffMessages } from "./messages.ts"
import type { DiffEntry, DiffSide } from "./rows.ts"
import "./diff.css"
import "../markdown/markdown.css"

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
