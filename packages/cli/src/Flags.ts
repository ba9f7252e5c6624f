/** Flags shared by several commands. */
import { durationMs } from "@corral/domain/run/LimitText"
import { Config, type Option, Schema } from "effect"
import { Flag } from "effect/cli"

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

export const jsonObject = toggle("json", "Print one JSON object")
export const jsonLines = toggle("json", "Print each as a JSON line")
