/**
 * Differences of one agent behind the Agent Client Protocol, as data. `edge.config.json` has the same fields.
 *
 * Does not: contain code that runs in a conversation, what all agents do alike, or what an agent says about itself in its responses
 * (capabilities, modes, options).
 */

import type { Continuation } from "@corral/domain/run/Continuation"
import type { ProjectSettings } from "@corral/domain/run/ProjectSettings"
import type { RuntimeFolders } from "@corral/domain/run/RuntimeFolders"
import type { RuntimeNetwork } from "@corral/domain/run/RuntimeNetwork"
import type { RunStart, SettingsFile } from "@corral/domain/run/RuntimeAdapter"
import type { JsonObject } from "../text/Json.ts"

/** Settings under which an agent executes nothing of the project. */
export interface WithoutProject {
  readonly env?: ((start: RunStart) => Readonly<Record<string, string>>) | undefined
  readonly settingsFiles?: ReadonlyArray<SettingsFile> | undefined
  /** `_meta` of the request that opens a session. */
  readonly sessionMeta?: ((start: RunStart) => JsonObject) | undefined
}

/** `readOnly`: value in `read_only` and `plan`. `ask`: value in the other modes. */
export interface ByMode<A> {
  readonly ask?: A | undefined
  readonly readOnly?: A | undefined
}

/** Arguments and environment that let an agent read a folder. The environment replaces variables of the mode. */
interface FolderAccess {
  readonly args?: (folder: string) => ReadonlyArray<string>
  readonly env?: (folder: string, isReadOnly: boolean) => Readonly<Record<string, string>>
}

/** An agent. Patterns are tested on text of the agent, so they must be linear or capped. */
export interface AcpAgent {
  /** Id of the adapter. */
  readonly id: string
  /** Name in messages for users. */
  readonly label: string
  /** Program on PATH. */
  readonly command: string
  /** Arguments that start the protocol on stdio. */
  readonly args: ReadonlyArray<string>
  /** Sentence for users whose machine does not have the program. */
  readonly install: string
  /** Sentence for users who are not signed in. */
  readonly signIn: string
  /** Names of the Edge's environment variables that the agent receives. `*` at the end means a prefix. */
  readonly passEnv: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly projectSettings?: ProjectSettings | undefined
  /** Folders outside the workspace for confined runs. */
  readonly folders?: RuntimeFolders | undefined
  /** Hosts that confined runs reach in every mode. */
  readonly network?: RuntimeNetwork | undefined
  /** Without this, the Edge does not start the agent in a project whose files execute something. */
  readonly withoutProject?: WithoutProject | undefined
  /** More arguments if project settings are enabled. */
  readonly trustArgs?: ReadonlyArray<string> | undefined
  readonly envByMode?: ByMode<Readonly<Record<string, string>>> | undefined
  /** What lets the agent read the folder of attachments, without which it refuses or requests permission as for a command. */
  readonly withAttachments?: FolderAccess | undefined
  /**
   * Ids of the agent's modes. `#plan` is any id that ends with it. An agent that does not offer the mode receives no prompt. Without `ask`
   * it stays in its start mode. Without `readOnly` it uses `ask`.
   */
  readonly modes?: ByMode<string> | undefined
  /** The agent may report a wrong mode at the start, so the mode is always set. */
  readonly modeUnknown?: boolean | undefined
  /** Place of a tool's name, for an agent without a field for it: the first title of a call, or the call's id up to `__`. */
  readonly toolName?: "title" | "callId" | undefined
  /** The title of a permission request is the whole command. The agent sends no input of tools. */
  readonly titleIsCommand?: boolean | undefined
  /** The content of a call has the input as JSON text until the call runs. */
  readonly inputInContent?: boolean | undefined
  /** Fields of a command's input that do not change its effect. */
  readonly notes?: ReadonlyArray<string> | undefined
  readonly continuation?: Continuation | undefined
  /** `native`: the agent accepts images in a prompt, and its model receives them. */
  readonly images?: "native" | "path" | undefined
  /** The agent offers to load an earlier session but does not find it. */
  readonly forgetsSessions?: boolean | undefined
  /** The agent acts without permission requests in all of its modes, so it runs only in modes without approvals. */
  readonly actsUnasked?: boolean | undefined
  /** Text of the program instead of the model, in a separate chunk. */
  readonly asides?: RegExp | undefined
  /** Text of the program that reports a failed model call and its retry. */
  readonly retriesInWords?: RegExp | undefined
  /** Prefixes of methods that are the agent's own and have no meaning for a run. */
  readonly ownMethods?: ReadonlyArray<string> | undefined
  /** Kinds of `session/update` that are the agent's own and have no meaning for a run. */
  readonly ownUpdates?: ReadonlyArray<string> | undefined
  /** Output of a call that a cancel stopped, although the agent reports it as completed. */
  readonly cancelsInWords?: RegExp | undefined
  /**
   * Last message of a turn, in one chunk, that is an error of the model service although the agent reports `end_turn`. Ignored if the turn
   * has tokens and no tool call: then the model wrote the text.
   */
  readonly failsInWords?: RegExp | undefined
  /** Like `failsInWords`, for text that a model may write too. Applies only if the turn has no tokens: then no call to the model succeeded. */
  readonly failsInWordsWithoutTokens?: RegExp | undefined
  /** Messages of the model have an id. A message without one is the program's. */
  readonly namesMessages?: boolean | undefined
  /** The agent reports the tokens of each call to the model, so that a budget can limit them. */
  readonly countsTokens?: boolean | undefined
  /** The counts of a response are those of all turns of the session. */
  readonly countsSession?: boolean | undefined
  /** The counts by model in a response are those of all turns of the session, and include sub-agents, which its other counts do not. */
  readonly countsModels?: boolean | undefined
  /** The counts of a response are those of the last call of its turn: no cost follows from them. */
  readonly countsLastCall?: boolean | undefined
  /** The agent reports what the session costs. It has no cost where it reports none. */
  readonly reportsCost?: boolean | undefined
  /** A subscription pays for the tokens. */
  readonly hasSubscription?: boolean | undefined
  /** Field in `_meta` of `session_info_update` with failed turns and retries of model calls. */
  readonly statusKey?: string | undefined
  /** `_meta` of the client's capabilities, by which the agent reports more: background work, sub-agents. */
  readonly clientMeta?: JsonObject | undefined
  /** Output of a call that continues in the background. Its group is the id of the work. */
  readonly startsInBackground?: RegExp | undefined
  /** Output of a call that plans a job. Its group is the id of the job, whose end is not reported. */
  readonly plansJobs?: RegExp | undefined
  /** The agent follows a goal by itself after the turn, and reports it in the words of its tools `CreateGoal` and `UpdateGoal`. */
  readonly followsGoals?: boolean | undefined
  /** The agent has the timers of Claude Code, and reports them in the words of their results. */
  readonly reportsTimersInWords?: boolean | undefined
  /** The agent starts a turn when its background work ends. */
  readonly continuesAfterWork?: boolean | undefined
  /** Option that approves a plan and keeps asking for permissions, for an agent that offers several. */
  readonly planApproval?: string | undefined
  /** A turn without a message of the model at its end has failed, and the agent does not say why. */
  readonly failsSilently?: boolean | undefined
}
