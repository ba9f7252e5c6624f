/** Modes that a chat account may request. Wider modes need a client that shows the actions of the agent. */
import { PermissionDenied } from "@corral/domain/errors/Failures"
import type { Principal } from "@corral/domain/hub-api/SessionAuthority"
import { RunMode } from "@corral/domain/run/Run"
import { Effect } from "effect"

const chatModes = RunMode.literals.slice(0, RunMode.literals.indexOf("ask") + 1)

export const requireChatMode = ({ kind }: Principal, mode: RunMode): Effect.Effect<void, PermissionDenied> =>
  kind !== "chat" || chatModes.includes(mode)
    ? Effect.void
    : Effect.fail(
        new PermissionDenied({
          message: "Messages from a chat run at most in the mode ask.",
          details: { mode, modes: chatModes }
        })
      )

/** The mode, or the widest one that the caller may request where the mode is wider. */
export const narrowedMode = ({ kind }: Principal, mode: RunMode): RunMode =>
  kind === "chat" && !chatModes.includes(mode) ? "ask" : mode
