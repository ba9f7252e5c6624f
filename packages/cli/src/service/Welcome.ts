/** What `corral up` tells a person when it serves: where things are, and what to try first. */
import type { WorkspaceEntry } from "@corral/edge/config/EdgeConfig"
import { SAMPLE_ID } from "./SampleWorkspace.ts"

export interface Welcome {
  /** Absent without a Hub. */
  readonly console: string | undefined
  /** As whom the console is signed in to, where every name is believed. */
  readonly owner: string | undefined
  readonly project: string | undefined
  /** Whether the terminals of this home are signed in to the Hub. */
  readonly signedIn: boolean
  readonly edge: string
  readonly gateway: string | undefined
  readonly tokenFile: string
  readonly workspaces: ReadonlyArray<WorkspaceEntry>
  readonly invocation: string
}

const line = (what: string, value: string | undefined): ReadonlyArray<string> =>
  value === undefined ? [] : [`  ${what.padEnd(12)}${value}`]

const FIRST = "Read the notes and write a summary"

export const welcome = (told: Welcome): string => {
  const { edge, gateway, invocation, owner, project, signedIn, tokenFile, workspaces } = told
  const at = signedIn && project !== undefined ? ` --project "${project}"` : ""
  const run = `${invocation} run${at} --agent scripted --workspace ${workspaces[0]?.id ?? SAMPLE_ID} "${FIRST}"`
  return [
    "",
    told.console === undefined ? `Corral is running at ${edge}` : `Corral is running: open ${told.console}`,
    ...(owner === undefined ? [] : [`and sign in as ${owner}; on this machine every name is believed.`]),
    "",
    ...line("project", project),
    ...workspaces.flatMap(({ id, path }) => line("workspace", `${id} (${path})`)),
    ...line("Edge", edge),
    ...line("its token", `in ${tokenFile}`),
    ...line("Gateway", gateway),
    "",
    told.console === undefined
      ? "Try, in another terminal:"
      : at === ""
        ? "Start a run there; or, without it being shown there, in another terminal:"
        : "Start a run there, or in another terminal:",
    `  ${run}`,
    "",
    "Ctrl-C ends it.",
    ""
  ].join("\n")
}
