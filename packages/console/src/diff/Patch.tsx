/** A patch that came as text, such as what an approval would write: the first lines at once, the rest when asked for. */
import { useMemo, useState } from "react"
import { Clipped } from "../markdown/Clipped.tsx"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { DiffRow } from "./DiffRow.tsx"
import { languageOfFile } from "./languageOf.ts"
import { parsePatch } from "./parsePatch.ts"
import { rowsOf } from "./rows.ts"
import { diffMessages } from "./messages.ts"
import "./diff.css"

const FIRST = 60
const STEP = 400

export const Patch = ({ patch, path }: { readonly patch: string; readonly path: string }) => {
  const messages = useMessages(diffMessages)
  const [most, setMost] = useState(FIRST)
  const rows = useMemo(() => {
    const hunks = parsePatch(patch)
    return hunks && rowsOf(hunks, "unified")
  }, [patch])
  if (rows === undefined) return <Clipped text={visibleText(patch)} className="code" />
  const language = languageOfFile(path)
  return (
    <div className="diff-patch" role="group" aria-label={messages.patchOf(visibleText(path))} tabIndex={0}>
      {rows.slice(0, most).map((row, at) => (
        <DiffRow key={at} row={row} language={language} />
      ))}
      {rows.length > most && (
        <button type="button" className="clipped-more" onClick={() => setMost(most + STEP)}>
          {messages.moreLines(rows.length - most)}
        </button>
      )}
    </div>
  )
}
