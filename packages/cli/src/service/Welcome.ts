/** Welcome text of `corral up`: URLs, workspaces and a first command. */
import type { WorkspaceEntry } from "@corral/edge/config/WorkspaceEntries"
import { SAMPLE_ID } from "./SampleWorkspace.ts"

export interface Welcome {
  /** URL of the console. Undefined without a Hub. */
  readonly console: string | undefined
  /** Suggested name for the development sign-in, which accepts every name. */
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

export const formatWelcome = (content: Welcome): string => {
  const { edge, gateway, invocation, owner, project, signedIn, tokenFile, workspaces } = content
  const at = signedIn && project !== undefined ? ` --project "${project}"` : ""
  const run = `${invocation} run${at} --agent scripted --workspace ${workspaces[0]?.id ?? SAMPLE_ID} "${FIRST}"`
  return [
    "",
    content.console === undefined
      ? `Corral is running at ${edge}`
      : `Corral is running. Open ${content.console}`,
    ...(owner === undefined ? [] : [`and sign in as ${owner}. This local sign-in accepts every name.`]),
    "",
    ...line("project", project),
    ...workspaces.flatMap(({ id, path }) => line("workspace", `${id} (${path})`)),
    ...line("Edge", edge),
    ...line("Edge token", tokenFile),
    ...line("Gateway", gateway),
    "",
    content.console === undefined
      ? "Start a run in another terminal:"
      : at === ""
        ? "Start a run in the console, or in another terminal (the console won't show it):"
        : "Start a run in the console, or in another terminal:",
    `  ${run}`,
    "",
    "Press Ctrl-C to stop.",
    ""
  ].join("\n")
}
