/** Output of a shell command in a run of the scripted agent, which a user allows. */
import type { RunMode } from "@corral/domain/run/Run"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"

export const shellOutput = async (
  { client }: EdgeProcess,
  command: string,
  mode: RunMode = "ask",
  more: Readonly<Record<string, unknown>> = {}
): Promise<string> => {
  const { id } = await client.create(`/shell ${command}\n/say done`, mode, more)
  const reader = await client.follow({ runId: id })
  const requested = await reader.event("run.approval.requested")
  await client.decide(id, String(requested.payload["approvalId"]), "allow")
  const result = await reader.event("run.tool.result")
  await reader.ended
  return String(result.payload["output"])
}
