/** The command tree. */
import { Command } from "effect/cli"
import { approve } from "./commands/approve.ts"
import { attach } from "./commands/attach.ts"
import { cancel } from "./commands/cancel.ts"
import { deny } from "./commands/deny.ts"
import { device } from "./commands/device.ts"
import { doctor } from "./commands/doctor.ts"
import { hub } from "./commands/hub.ts"
import { normalize } from "./commands/normalize.ts"
import { run } from "./commands/run.ts"
import { runs } from "./commands/runs.ts"
import { up } from "./commands/up.ts"

export const corral = Command.make("corral").pipe(
  Command.withDescription("Runs coding agents beside your code, under supervision"),
  Command.withSubcommands([up, run, runs, attach, approve, deny, cancel, device, doctor, hub, normalize])
)
