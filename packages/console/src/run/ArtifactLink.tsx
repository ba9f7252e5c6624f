/** Link that downloads an artifact. The Hub sends every type as an attachment. */
import type { ReactNode } from "react"
import { addressOf } from "../api/Hub.ts"
import { hubRoutes } from "../api/routes.ts"

interface Props {
  readonly runId: string
  readonly artifactId: string
  readonly children: ReactNode
}

export const ArtifactLink = ({ artifactId, children, runId }: Props) => {
  const [, path] = hubRoutes.runs.artifactContent
  return (
    <a href={addressOf(path, { params: { id: runId, artifactId } })} download>
      {children}
    </a>
  )
}
