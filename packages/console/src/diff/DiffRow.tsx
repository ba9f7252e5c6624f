/** One row of a diff. Signs repeat the meaning of colours. */
import { memo } from "react"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { LineText } from "./LineText.tsx"
import type { DiffEntry, DiffSide } from "./rows.ts"
import { diffMessages } from "./messages.ts"
import "./diff.css"

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

interface Props {
  readonly row: DiffEntry
  readonly language: string | undefined
}

export const DiffRow = memo(({ language, row }: Props) => {
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
