/** Flags that several commands share. */
import { Config, type Option } from "effect"
import { Flag } from "effect/cli"

/** The flags of every command that talks to an Edge. */
export const edgeFlags = {
  url: Flag.String("url").pipe(
    Flag.withDescription("Address of the Edge (CORRAL_EDGE_URL); else the one that runs here"),
    Flag.withFallbackConfig(Config.String("CORRAL_EDGE_URL")),
    Flag.optional
  ),
  tokenFile: Flag.String("token-file").pipe(
    Flag.withDescription("File with the Edge's token (CORRAL_EDGE_TOKEN_FILE)"),
    Flag.withFallbackConfig(Config.String("CORRAL_EDGE_TOKEN_FILE")),
    Flag.optional
  )
}

export interface EdgeChoice {
  readonly url: Option.Option<string>
  readonly tokenFile: Option.Option<string>
}

/** A flag that is off unless it is given. */
export const toggle = (name: string, description: string): Flag.Flag<boolean> =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))
