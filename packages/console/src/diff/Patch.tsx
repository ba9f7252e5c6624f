/** Patch given as text, such as the proposed changes of an approval. Shows the first lines; the user expands the rest. */
import { useMemo, useState } from "react"
import { Clipped } from "../markdown/Clipped.tsx"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { DiffRow } from "./DiffRow.tsx"
import { languageOfFile } from "./languageOfFile.ts"
import { parsePatch } from "@corral/domain/edge-api/ParsedPatch"
import { rowsOf } from "./rows.ts"
import { diffMessages } from "./messages.ts"
import "./diff.css"

const FIRST = 60
const STEP = 400

interface Props {
  readonly patch: string
  readonly path: string
  /** Whether all lines are shown at first. */
  readonly isWhole?: boolean
}

export const Patch = ({ isWhole = false, patch, path }: Props) => {
  const messages = useMessages(diffMessages)
  const [most, setMost] = useState(isWhole ? Infinity : FIRST)
  const rows = useMemo(() => {
    const hunks = parsePatch(patch)
    return hunks && rowsOf(hunks, "unified")
  }, [patch])
  if (rows === undefined) return <Clipped text={visibleText(patch)} className="code" isWhole={isWhole} />
  const language = languageOfFile(path)
  return (
    <div className="diff-patch" role="group" aria-label={messages.patchOf(visibleText(path))} tabIndex={0}>
      {rows.slice(0, most).map((row, at) => (
        <DiffRow key={at} row={row} language={language} />
      ))}
      {rows.length > most && (
        <button
          type="button"
          className="clipped-more"
          data-hidden-lines={rows.length - most}
          onClick={() => setMost(most + STEP)}
        >
          {messages.moreLines(rows.length - most)}
        </button>
      )}
    </div>
  )
}
