/** Segments of a command as parsed by the Edge: each program, and each part that can't be determined in advance. */
import type { CommandSegment } from "@corral/domain/approval/Approval"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { phone, useMedia } from "../ui/useMedia.ts"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

const MOST = 100

export const Segments = ({ segments }: { readonly segments: ReadonlyArray<CommandSegment> }) => {
  const messages = useMessages(approvalMessages)
  const isPhone = useMedia(phone)
  // On a phone the command has the room. What can't be read in advance is never folded.
  const isOpen = !isPhone || segments.some(({ opaque }) => opaque !== undefined)
  return (
    <details className="segments-fold" open={isOpen}>
      <summary>{messages.segments(segments.length)}</summary>
      <ol className="segments">
        {segments.slice(0, MOST).map(({ opaque, program, text }, at) => (
          <li key={at} className={opaque === undefined ? "" : "segment-opaque"}>
            <code>{visibleLine(text, 1_000)}</code>
            {program !== undefined && !text.startsWith(`${program} `) && text !== program && (
              <span className="quiet"> {messages.program(visibleLine(program, 100))}</span>
            )}
            {opaque !== undefined && (
              <p className="segment-why">⚠ {messages.opaque(visibleLine(opaque, 300))}</p>
            )}
          </li>
        ))}
      </ol>
      {segments.length > MOST && <p>… {segments.length}</p>}
    </details>
  )
}
