/** What a run was started with, on one quiet line. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { confinementFailure } from "@corral/domain/run/ConfinementText"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { ShortId } from "../ui/ShortId.tsx"
import { uiMessages } from "../ui/messages.ts"
import { runMessages } from "../run/messages.ts"
import "./thread.css"

export const RunDetails = ({ run }: { readonly run: HubRun }) => {
  const messages = useMessages(runMessages)
  const ui = useMessages(uiMessages)
  const { agentId, confinement, endsWithEdge, id, isolation, mode, model } = run
  const failure = confinement && confinementFailure(confinement, mode)
  const facts = [
    visibleLine(agentId, 60),
    ui.modes[mode],
    ...(model === undefined ? [] : [visibleLine(model, 80)]),
    ...(isolation === "worktree" ? [messages.worktree] : []),
    ...(confinement === undefined
      ? []
      : [
          failure === undefined
            ? messages.confinement(confinement.kind)
            : messages.notConfined(visibleLine(failure, 400))
        ]),
    ...(endsWithEdge === true ? [messages.endsWithEdge] : [])
  ]
  return (
    <p className="run-details">
      {facts.join(" · ")} · <ShortId id={id} />
    </p>
  )
}
