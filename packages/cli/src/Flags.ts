/** Flags shared by several commands. */
import { durationMs } from "@corral/domain/run/LimitText"
import { Config, Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { type CommandFailed, refused } from "./CommandFailed.ts"

export const DurationText = Schema.String.check(
  Schema.makeFilter((text: string) => durationMs(text) !== undefined, {
    expected: "a duration like 90s, 10m or 2h, from 1s to 24h"
  })
)

/** The flags of every command that talks to an Edge. */
export const edgeFlags = {
  url: Flag.String("url").pipe(
    Flag.withDescription("URL of the Edge (CORRAL_EDGE_URL). Default: the Edge running on this machine"),
    Flag.withFallbackConfig(Config.String("CORRAL_EDGE_URL")),
    Flag.optional
  ),
  tokenFile: Flag.String("token-file").pipe(
    Flag.withDescription("File with the token of the Edge (CORRAL_EDGE_TOKEN_FILE)"),
    Flag.withFallbackConfig(Config.String("CORRAL_EDGE_TOKEN_FILE")),
    Flag.optional
  )
}

/** Flags of commands about runs, which are on an Edge or a Hub. */
export const runServerFlags = {
  ...edgeFlags,
  hub: Flag.String("hub").pipe(
    Flag.withDescription("Use the Hub that you are signed in to instead of the local Edge"),
    Flag.optional
  ),
  project: Flag.String("project").pipe(
    Flag.withAlias("p"),
    Flag.withDescription("Use a project at the Hub, by id or name, instead of the local Edge"),
    Flag.optional
  )
}

/** Flag of commands that only a Hub supports. */
export const hubFlag = {
  hub: Flag.String("hub").pipe(Flag.withDescription("The Hub that you are signed in to"), Flag.optional)
}

export interface EdgeChoice {
  readonly url: Option.Option<string>
  readonly tokenFile: Option.Option<string>
}

export interface RunServerChoice extends EdgeChoice {
  readonly hub: Option.Option<string>
  readonly project: Option.Option<string>
}

/** Boolean flag that is off by default. */
export const toggle = (name: string, description: string): Flag.Flag<boolean> =>
  Flag.Boolean(name).pipe(Flag.withoutNegation, Flag.withDescription(description), Flag.withDefault(false))

/** `--json` of commands that print one object or a list. */
export const optionalText = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

/** Flags of commands that serve editors, with the agents of an Edge or of a Hub. */
export const editorFlags = {
  ...edgeFlags,
  hub: Flag.String("hub").pipe(
    Flag.withDescription("Use the agents of devices at the Hub that you are signed in to"),
    Flag.optional
  ),
  edge: toggle(
    "edge",
    "Use the agents of this machine's Edge. Default without --hub, --project and --target"
  ),
  project: optionalText("project", "Project at the Hub, by id or name. Default: the only one").pipe(
    Flag.withAlias("p")
  ),
  target: optionalText("target", "With a Hub: device id or name. Default: the one with the workspace"),
  workspace: optionalText(
    "workspace",
    "Id of the workspace. Default: the one with the name of the open folder"
  ).pipe(Flag.withAlias("w"))
}

interface EditorChoice {
  readonly edge: boolean
  readonly hub: Option.Option<string>
  readonly project: Option.Option<string>
  readonly target: Option.Option<string>
  readonly url: Option.Option<string>
}

/** Whether the flags select a Hub. Fails if they select an Edge as well. */
export const selectsHub = ({
  edge,
  hub,
  project,
  target,
  url
}: EditorChoice): Effect.Effect<boolean, CommandFailed> => {
  const isHub = [hub, project, target].some(Option.isSome)
  return isHub && (edge || Option.isSome(url))
    ? Effect.fail(
        refused(
          "--edge and --url select an Edge, --hub, --project and --target select a Hub. Use one or the other."
        )
      )
    : Effect.succeed(isHub)
}

export const jsonObject = toggle("json", "Print one JSON object")
export const jsonLines = toggle("json", "Print each as a JSON line")
