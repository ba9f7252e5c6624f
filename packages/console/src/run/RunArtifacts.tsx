/** Artifacts of a run. */
import type { Artifact } from "@corral/domain/run/Artifact"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { Time } from "../ui/Time.tsx"
import { ArtifactLink } from "./ArtifactLink.tsx"
import { runMessages } from "./messages.ts"

export const RunArtifacts = ({ runId }: { readonly runId: HubRun["id"] }) => {
  const messages = useMessages(runMessages)
  const list = useList<Artifact>(["runs", runId, "artifacts"], ({ page, signal }) =>
    hubApi.runs.artifacts({
      params: { id: runId },
      query: page,
      signal
    })
  )
  return (
    <>
      <ul className="rows">
        {list.items.map(({ createdAt, id, mediaType, name, sha256, size }) => (
          <li key={id} className="row">
            <span className="row-main">
              <ArtifactLink runId={runId} artifactId={id}>
                {visibleLine(name)}
              </ArtifactLink>
            </span>
            <span className="row-side quiet" title={`SHA-256 ${sha256}`}>
              {visibleLine(mediaType, 60)} · {messages.bytes(size)} · <Time at={createdAt} />
            </span>
          </li>
        ))}
      </ul>
      <ListMore list={list} empty={messages.noArtifacts} />
    </>
  )
}
