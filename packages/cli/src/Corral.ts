/** The command tree. */
import { Command, Completions } from "effect/cli"
import { approve } from "./commands/approve.ts"
import { artifacts } from "./commands/artifacts.ts"
import { attach } from "./commands/attach.ts"
import { audit } from "./commands/audit.ts"
import { cancel } from "./commands/cancel.ts"
import { completionsOf } from "./commands/completions.ts"
import { deny } from "./commands/deny.ts"
import { device } from "./commands/device.ts"
import { devices } from "./commands/devices.ts"
import { diff } from "./commands/diff.ts"
import { doctor } from "./commands/doctor.ts"
import { hub } from "./commands/hub.ts"
import { login, logout, whoami } from "./commands/login.ts"
import { normalize } from "./commands/normalize.ts"
import { preview } from "./commands/preview.ts"
import { projects } from "./commands/projects.ts"
import { run } from "./commands/run.ts"
import { runs } from "./commands/runs.ts"
import { up } from "./commands/up.ts"

const completions = completionsOf((): Completions.CommandDescriptor => Completions.fromCommand(corral))

export const corral = Command.make("corral").pipe(
  Command.withDescription("Runs coding agents beside your code, under supervision"),
  Command.withSubcommands([
    up,
    run,
    runs,
    attach,
    approve,
    deny,
    cancel,
    diff,
    artifacts,
    preview,
    login,
    logout,
    whoami,
    projects,
    devices,
    device,
    audit,
    doctor,
    hub,
    normalize,
    completions
  ])
)
