/**
 * Segments of a command line as users see them before they decide. Characters that are not seen are named.
 *
 * They are read from the request without secrets, since a part of a secret is not recognized as one.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { programOf } from "./ProgramName.ts"
import type { ParsedSegment } from "./ParsedSegment.ts"
import { segmentsOf } from "./ShellCommand.ts"
import { unshownAsSymbols } from "./UnshownText.ts"

const SHOWN = 500

/** `segments` are those of the original request. */
export const shownSegments = (
  { command }: ApprovalRequest,
  redacted: ApprovalRequest,
  segments: ReadonlyArray<ParsedSegment>
): Pick<ApprovalRequest, "segments"> =>
  redacted.command === undefined
    ? {}
    : { segments: (redacted.command === command ? segments : segmentsOf(redacted.command)).map(segmentShown) }

const segmentShown = ({ inner, opaque, text }: ParsedSegment) => ({
  text: unshownAsSymbols(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text),
  ...(opaque === undefined ? { program: programOf(inner) } : { opaque })
})
