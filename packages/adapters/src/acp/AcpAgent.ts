/**
 * How one agent differs from the others behind the Agent Client Protocol: data, one value an agent.
 *
 * Nothing here is code that runs in a conversation. What every agent does alike, and what an agent says of itself in its answers
 * (capabilities, modes, options), is not repeated here.
 */

import type { ProjectSettings } from "@corral/domain/run/ProjectSettings"
import type { RunStart, SettingsFile } from "@corral/domain/run/RuntimeAdapter"
import type { JsonObject } from "../text/Json.ts"

/** What starts an agent so that it executes nothing of the project. */
export interface WithoutProject {
  readonly env?: ((start: RunStart) => Readonly<Record<string, string>>) | undefined
  readonly settingsFiles?: ReadonlyArray<SettingsFile> | undefined
  /** `_meta` of the request for a session. */
  readonly sessionMeta?: ((start: RunStart) => JsonObject) | undefined
}

/** Values of one kind for modes that may change things, and for `read_only` and `plan`. */
export interface ByMode<A> {
  readonly ask?: A | undefined
  readonly readOnly?: A | undefined
}

export interface AcpAgent {
  readonly id: string
  readonly label: string
  /** The program on PATH, and what makes it speak the protocol on stdio. */
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly install: string
  readonly signIn: string
  /** Names of the Edge's environment that it may see, `*` at the end for a prefix. */
  readonly passEnv: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly projectSettings?: ProjectSettings | undefined
  /** Without it the Edge does not start the agent where files of the project execute something. */
  readonly withoutProject?: WithoutProject | undefined
  /** Further arguments where project settings are enabled. */
  readonly trustArgs?: ReadonlyArray<string> | undefined
  readonly envByMode?: ByMode<Readonly<Record<string, string>>> | undefined
  /**
   * Ids of the agent's modes; `#plan` is any id that ends so. An agent that does not offer the one it must be in is not prompted. Without an
   * id it stays in the mode it starts in; without one for `readOnly` it is in that for `ask`.
   */
  readonly modes?: ByMode<string> | undefined
  /** What it says of its mode at the start may not be so: the mode is always set. */
  readonly modeUnknown?: boolean | undefined
  /** Where the name of a tool is, for an agent without a field for it: the first title of a call, or its id up to `__`. */
  readonly toolName?: "title" | "callId" | undefined
  /** The title of a command's request is the whole command: it sends no input of tools. */
  readonly titleIsCommand?: boolean | undefined
  /** It sends the input of a tool as JSON text in the content of the call, until it runs. */
  readonly inputInContent?: boolean | undefined
  /** Keys of a command's input that do not change what the command does. */
  readonly notes?: ReadonlyArray<string> | undefined
  /** It does not find an earlier session again, although it offers to load one. */
  readonly forgetsSessions?: boolean | undefined
  /** It acts without asking, in every mode that it offers: then it is held to no mode that asks. */
  readonly actsUnasked?: boolean | undefined
  /** Text in a separate chunk from the program, not from the model. */
  readonly asides?: RegExp | undefined
  /** An aside like this reports a failed model call that is tried again. */
  readonly retriesInWords?: RegExp | undefined
  /** Prefixes of the agent's methods that do not concern a run. */
  readonly ownMethods?: ReadonlyArray<string> | undefined
  /** A call with this output was stopped by a cancel, although the agent reports it as completed. */
  readonly cancelsInWords?: RegExp | undefined
  /**
   * A last message like this, in one chunk, is an error of the model service: the agent says that its turn ended well. The model wrote it
   * itself where a call to it succeeded in the turn and no tool call came between.
   */
  readonly failsInWords?: RegExp | undefined
  /** Like `failsInWords`, for words that a model may use too: only where the turn reports no tokens, so no call to the model succeeded. */
  readonly failsInWordsWithoutTokens?: RegExp | undefined
  /** Messages of the model carry an id. A message without one is the program's. */
  readonly namesMessages?: boolean | undefined
  /** The key in `_meta` of `session_info_update` under which the agent reports failed turns and retried model calls. */
  readonly statusKey?: string | undefined
  /** A turn that does not end with a message of the model is a failed one, and the agent does not say why. */
  readonly failsSilently?: boolean | undefined
}
