/** A patch that came as text, such as what an approval would write: the first lines at once, the rest when asked for. */
import { useMemo, useState } from "react"
import { Clipped } from "../markdown/Clipped.tsx"
import { visible } from "../markdown/visible.ts"
import { useWords } from "../text/Language.tsx"
import { DiffRow } from "./DiffRow.tsx"
import { languageOf } from "./languageOf.ts"
import { parsePatch } from "./parsePatch.ts"
import { rowsOf } from "./rows.ts"
import { diffWords } from "./messages.ts"
import "./diff.css"

const FIRST = 60
const STEP = 400

export const Patch = ({ patch, path }: { readonly patch: string; readonly path: string }) => {
  const words = useWords(diffWords)
  const [most, setMost] = useState(FIRST)
  const rows = useMemo(() => {
    const hunks = parsePatch(patch)
    return hunks && rowsOf(hunks, "unified")
  }, [patch])
  if (rows === undefined) return <Clipped text={visible(patch)} className="code" />
  const language = languageOf(path)
  return (
    <div className="diff-patch" role="group" aria-label={words.patchOf(visible(path))} tabIndex={0}>
      {rows.slice(0, most).map((row, at) => (
        <DiffRow key={at} row={row} language={language} />
      ))}
      {rows.length > most && (
        <button type="button" className="clipped-more" onClick={() => setMost(most + STEP)}>
          {words.moreLines(rows.length - most)}
        </button>
      )}
    </div>
  )
}
