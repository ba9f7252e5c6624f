/** A command taken apart as the Edge reads it: each program that would run, and each part of which nobody can tell. */
import type { CommandSegment } from "@corral/domain/approval/Approval"
import { oneLine } from "../markdown/visible.ts"
import { useWords } from "../text/Language.tsx"
import { approvalWords } from "./messages.ts"
import "./approval.css"

const MOST = 100

export const Segments = ({ segments }: { readonly segments: ReadonlyArray<CommandSegment> }) => {
  const words = useWords(approvalWords)
  return (
    <>
      <h3>{words.segments}</h3>
      <ol className="segments">
        {segments.slice(0, MOST).map(({ opaque, program, text }, at) => (
          <li key={at} className={opaque === undefined ? "" : "segment-opaque"}>
            <code>{oneLine(text, 1_000)}</code>
            {program !== undefined && <span className="quiet"> {words.program(oneLine(program, 100))}</span>}
            {opaque !== undefined && <p className="segment-why">⚠ {words.opaque(oneLine(opaque, 300))}</p>}
          </li>
        ))}
      </ol>
      {segments.length > MOST && <p>… {segments.length}</p>}
    </>
  )
}
