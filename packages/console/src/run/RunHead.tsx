/** Details of a run, and a button that cancels it. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { ShortId } from "../ui/ShortId.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { uiMessages } from "../ui/messages.ts"
import { UsageText } from "./UsageText.tsx"
import { runMessages } from "./messages.ts"
import "./run.css"

/** `state` comes from the events, which may be newer than the run's data. */
export const RunHead = ({ run, state }: { readonly run: HubRun; readonly state: HubRun["state"] }) => {
  const messages = useMessages(runMessages)
  const ui = useMessages(uiMessages)
  const { agentId, createdAt, endedAt, id, isolation, mode, model, targetId, usage, workspace } = run
  const device = useQuery({
    queryKey: ["devices", "targets"],
    queryFn: ({ signal }) => hubApi.devices.targets({ query: { limit: 200 }, signal }),
    staleTime: 60_000
  })
  const name = device.data?.items.find((target) => target.id === targetId)?.name
  return (
    <dl className="run-facts">
      <div>
        <dt className="hidden">{messages.run}</dt>
        <dd>
          <StateBadge state={state} /> <ShortId id={id} />
        </dd>
      </div>
      <div>
        <dt>{messages.agent}</dt>
        <dd>{agentId}</dd>
      </div>
      <div>
        <dt>{messages.target}</dt>
        <dd>{name === undefined ? <ShortId id={targetId} /> : visibleLine(name, 60)}</dd>
      </div>
      <div>
        <dt>{messages.workspace}</dt>
        <dd>
          {workspace}
          {isolation === "worktree" && <span className="quiet"> {messages.worktree}</span>}
        </dd>
      </div>
      <div>
        <dt>{messages.mode}</dt>
        <dd>{ui.modes[mode]}</dd>
      </div>
      {model !== undefined && (
        <div>
          <dt>{messages.model}</dt>
          <dd>{visibleLine(model, 80)}</dd>
        </div>
      )}
      <div>
        <dt>{endedAt === undefined ? messages.since : messages.ended}</dt>
        <dd>
          <Time at={endedAt ?? createdAt} />
        </dd>
      </div>
      {usage !== undefined && Object.keys(usage).length > 0 && (
        <div>
          <dt>{messages.usage}</dt>
          <dd>
            <UsageText usage={usage} />
          </dd>
        </div>
      )}
    </dl>
  )
}
