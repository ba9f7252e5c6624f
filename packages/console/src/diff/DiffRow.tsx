/** One row of a diff. Signs repeat the meaning of colours. */
import { memo } from "react"
import { Tokens } from "../markdown/Code.tsx"
import { useHighlighter } from "../markdown/useHighlighter.ts"
import { visibleText } from "../markdown/visible.ts"
import type { DiffEntry, DiffSide } from "./rows.ts"
import "./diff.css"

/** Maximum number of characters shown per line. */
const LONGEST = 2_000
const COLOURED = 500

const Line = ({ language, text }: { readonly text: string; readonly language: string | undefined }) => {
  const highlighter = useHighlighter(language !== undefined && text.length <= COLOURED)
  const line = visibleText(text.slice(0, LONGEST))
  const tokens = language === undefined ? undefined : highlighter?.tokenize(line, language)
  return (
    <>
      {tokens === undefined ? line : <Tokens tokens={tokens} />}
      {text.length > LONGEST && <em className="diff-cut">{` … ${text.length.toLocaleString("en")}`}</em>}
    </>
  )
}

const tone = (side: DiffSide | undefined): string =>
  side === undefined
    ? "diff-none"
    : side.mark === "+"
      ? "diff-added"
      : side.mark === "-"
        ? "diff-removed"
        : ""

const Half = ({
  language,
  side
}: {
  readonly side: DiffSide | undefined
  readonly language: string | undefined
}) => (
  <>
    <span className={`diff-number ${tone(side)}`}>{side?.number}</span>
    <code className={`diff-text ${tone(side)}`}>
      <span className="diff-mark">{side?.mark ?? " "}</span>
      {side !== undefined && <Line text={side.text} language={language} />}
    </code>
  </>
)

interface Props {
  readonly row: DiffEntry
  readonly language: string | undefined
}

export const DiffRow = memo(({ language, row }: Props) => {
  switch (row.kind) {
    case "hunk":
      return <div className="diff-row diff-hunk">{row.text}</div>
    case "note":
      return <div className="diff-row diff-note">{visibleText(row.text)}</div>
    case "line":
      return (
        <div className="diff-row diff-line">
          <span className={`diff-number ${tone(row.side)}`}>{row.old}</span>
          <span className={`diff-number ${tone(row.side)}`}>{row.new}</span>
          <code className={`diff-text ${tone(row.side)}`}>
            <span className="diff-mark">{row.side.mark}</span>
            <Line text={row.side.text} language={language} />
          </code>
        </div>
      )
    case "pair":
      return (
        <div className="diff-row diff-pair">
          <Half side={row.old} language={language} />
          <Half side={row.new} language={language} />
        </div>
      )
  }
})
