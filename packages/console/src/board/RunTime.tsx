/** How long a run in progress works, or when it ended. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { isInProgress } from "../status/SessionStatus.ts"
import { useLanguage } from "../text/Language.tsx"
import { Time, useNow } from "../ui/Time.tsx"
import { formatDuration } from "../text/Duration.ts"

export const RunTime = ({ run }: { readonly run: HubRun }) => {
  const { language } = useLanguage()
  const now = useNow()
  const begin = Date.parse(run.createdAt)
  if (isInProgress(run.state)) return <span>{formatDuration(now - begin, language)}</span>
  return <Time at={run.endedAt ?? run.updatedAt} />
}
