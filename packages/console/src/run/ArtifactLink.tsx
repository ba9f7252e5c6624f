/** A link that downloads an artifact: the Hub sends it as an attachment, whatever it says of itself. */
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
