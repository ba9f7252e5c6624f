/** Artifacts of a run, each with a link that downloads it. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Artifact } from "@corral/domain/run/Artifact"
import type { ReactNode } from "react"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { Time } from "../ui/Time.tsx"
import { ArtifactLink } from "./ArtifactLink.tsx"
import { reviewMessages } from "./messages.ts"
import "./review.css"

interface Props {
  readonly run: HubRun
  readonly scope?: ReactNode
}

export const ArtifactsTab = ({ run, scope }: Props) => {
  const messages = useMessages(reviewMessages)
  const list = useList<Artifact>(["runs", run.id, "artifacts"], ({ page, signal }) =>
    hubApi.runs.artifacts({ params: { id: run.id }, query: page, signal })
  )
  return (
    <>
      {scope !== undefined && <div className="panel-bar">{scope}</div>}
      <div className="panel-content">
        <ul className="panel-rows">
          {list.items.map(({ createdAt, id, mediaType, name, sha256, size }) => (
            <li key={id} className="panel-row">
              <Icon name="artifact" />
              <span className="panel-row-main">
                <ArtifactLink runId={run.id} artifactId={id}>
                  {visibleLine(name)}
                </ArtifactLink>{" "}
                <span className="quiet" title={`SHA-256 ${sha256}`}>
                  {visibleLine(mediaType, 60)} · {messages.size(size)} · <Time at={createdAt} />
                </span>
              </span>
            </li>
          ))}
        </ul>
        <ListMore list={list} empty={messages.noArtifacts} />
      </div>
    </>
  )
}
