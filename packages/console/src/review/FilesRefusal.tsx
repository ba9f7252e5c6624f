/** Why files of a workspace can't be read. An offline device is a state, not an error. */
import { CorralError } from "@corral/client/http/CorralError"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useTargetName } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { reviewMessages } from "./messages.ts"
import "./review.css"

interface Props {
  readonly error: Error | null
  readonly again: () => void
  readonly run: HubRun
}

export const FilesRefusal = ({ again, error, run }: Props) => {
  const messages = useMessages(reviewMessages)
  const device = visibleLine(useTargetName(run.targetId) ?? "", 60)
  if (!(error instanceof CorralError && error.code === "target_offline"))
    return <RefusalNote error={error} again={again} />
  return (
    <p className="panel-empty" role="status">
      <Icon name="offline" /> {messages.filesOffline(device)}{" "}
      <button type="button" className="button small" onClick={again}>
        {messages.again}
      </button>
    </p>
  )
}
