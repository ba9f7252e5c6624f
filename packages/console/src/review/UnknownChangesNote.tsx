/** Changes of a turn that are unknown, and files of it that were not compared. */
import { CorralError } from "@corral/client/http/CorralError"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { LeftOut } from "@corral/domain/run/Worktree"
import { visibleLine } from "../markdown/visible.ts"
import { reasonText, unknownChangesMessages } from "../run/unknownChanges.ts"
import { useMessages } from "../text/Language.tsx"
import "../run/run.css"

interface Unknown {
  readonly reason?: unknown
  readonly detail?: unknown
}

/** `undefined` if the changes are known, or another request failed. */
export const unknownChangesOf = (run: HubRun, error: Error | null): Unknown | undefined => {
  if (run.changesUnknown !== undefined) return run.changesUnknown
  return error instanceof CorralError && error.code === "changes_unknown" ? error.details : undefined
}

export const UnknownChangesNote = ({ unknown: { detail, reason } }: { readonly unknown: Unknown }) => {
  const messages = useMessages(unknownChangesMessages)
  return (
    <div className="refusal" role="alert">
      <p>
        <strong>{messages.title}.</strong> {reasonText(messages.reasons, reason)} {messages.review}
      </p>
      {typeof detail === "string" && (
        <p className="quiet">
          <code>{visibleLine(detail, 400)}</code>
        </p>
      )}
    </div>
  )
}

export const LeftOutNote = ({ leftOut: { count, paths } }: { readonly leftOut: LeftOut }) => {
  const messages = useMessages(unknownChangesMessages)
  return (
    <p className="line warning">
      <strong>{messages.leftOut(count)}</strong>{" "}
      {paths.map((path, at) => (
        <span key={path}>
          {at > 0 && ", "}
          <code>{visibleLine(path, 400)}</code>
        </span>
      ))}{" "}
      {count > paths.length && messages.more(count - paths.length)}
    </p>
  )
}
