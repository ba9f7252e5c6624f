/** Welcome text of `corral up`: URLs, workspaces and a first command. */
import type { ConfinementReadiness } from "@corral/domain/http/Health"
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
  /** Of runs. Undefined if the Edge does not say. */
  readonly confinement: ConfinementReadiness | undefined
  readonly gateway: string | undefined
  readonly tokenFile: string
  readonly workspaces: ReadonlyArray<WorkspaceEntry>
  readonly invocation: string
}

const line = (what: string, value: string | undefined): ReadonlyArray<string> =>
  value === undefined ? [] : [`  ${what.padEnd(12)}${value}`]

/** What is missing to confine runs. `undefined` if nothing is. */
const confinementGap = ({ confinement, invocation }: Welcome): string | undefined => {
  if (confinement?.problem === undefined) return undefined
  const means = confinement.kind === "none" ? "none" : `in part, by ${confinement.kind}`
  return `${means}. ${confinement.problem} \`${invocation} doctor\` shows what to do.`
}

const FIRST = "Read the notes and write a summary"

/** The last line: what to open. */
const openLine = ({ console, edge, owner }: Welcome): string => {
  if (console === undefined) return `The Edge is at ${edge}. Ctrl-C stops it.`
  const who = owner === undefined ? "" : ` and sign in as ${owner}`
  return `Open ${console}${who}. Ctrl-C stops Corral.`
}

export const formatWelcome = (content: Welcome): string => {
  const { gateway, invocation, owner, project, signedIn, tokenFile, workspaces } = content
  const run = `${invocation} run --agent scripted --workspace ${workspaces[0]?.id ?? SAMPLE_ID} "${FIRST}"`
  const isShown = content.console === undefined || (signedIn && project !== undefined)
  return [
    "",
    owner === undefined
      ? "Corral is running."
      : "Corral is running. The sign-in of this machine accepts every name.",
    "",
    ...line("project", project),
    ...workspaces.flatMap(({ id, path }) => line("workspace", `${id} (${path})`)),
    ...line("Edge", content.edge),
    ...line("Edge token", tokenFile),
    ...line("Gateway", gateway),
    ...line("confinement", confinementGap(content)),
    "",
    `Start a run in another terminal${isShown ? "" : " (the console won't show it)"}, or chat:`,
    `  ${run}`,
    `  ${invocation} chat`,
    "",
    openLine(content),
    ""
  ].join("\n")
}
