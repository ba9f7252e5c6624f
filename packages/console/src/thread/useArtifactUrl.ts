/** Address of an artifact's bytes in this page, with a media type that was checked. It ends with its view. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { hubApi } from "../api/Hub.ts"

interface ArtifactUrl {
  /** Undefined while it loads. */
  readonly url: string | undefined
  readonly error: Error | null
}

interface Wanted {
  readonly runId: HubRun["id"]
  readonly artifactId: string
  readonly mediaType: string
  /** Whether it is read now. */
  readonly isWanted: boolean
}

export const useArtifactUrl = ({ artifactId, isWanted, mediaType, runId }: Wanted): ArtifactUrl => {
  const [url, setUrl] = useState<string>()
  const { data, error } = useQuery({
    queryKey: ["artifact-bytes", runId, artifactId],
    queryFn: async ({ signal }) =>
      new Response(await hubApi.runs.artifactContent({ params: { id: runId, artifactId }, signal })).blob(),
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000
  })
  useEffect(() => {
    if (data === undefined) return undefined
    const address = URL.createObjectURL(data.slice(0, data.size, mediaType))
    setUrl(address)
    return () => URL.revokeObjectURL(address)
  }, [data, mediaType])
  return { url, error }
}
