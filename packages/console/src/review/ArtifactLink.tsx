/** Link that downloads an artifact. The Hub sends every type as an attachment. */
import type { ReactNode } from "react"
import { pathOf } from "@corral/client/http/Endpoints"
import { hubPaths } from "@corral/client/hubPaths"

interface Props {
  readonly runId: string
  readonly artifactId: string
  readonly children: ReactNode
}

export const ArtifactLink = ({ artifactId, children, runId }: Props) => {
  const [, path] = hubPaths.runs.artifactContent
  return (
    <a href={pathOf(path, { params: { id: runId, artifactId } })} download>
      {children}
    </a>
  )
}
