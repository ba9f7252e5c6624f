/** Text of a changed line: syntax colours, marks on changed words, and a button for the rest of a long line. */
import { memo, useMemo, useState } from "react"
import { Tokens } from "../markdown/Code.tsx"
import { useHighlighter } from "../markdown/useHighlighter.ts"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { markTokens } from "./markTokens.ts"
import type { DiffSide } from "./rows.ts"
import { wordChanges } from "./wordChanges.ts"
import { diffMessages } from "./messages.ts"
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

interface Props {
  readonly side: DiffSide
  readonly language: string | undefined
}

export const LineText = memo(({ language, side }: Props) => {
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
