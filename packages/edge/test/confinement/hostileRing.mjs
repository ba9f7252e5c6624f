/** Attempts of the hostile program by io_uring: the kernel works from a ring in memory, and no system call names the file or the address. */
import { execFileSync } from "node:child_process"
import { join } from "node:path"

const {
  hasRing,
  home,
  outside,
  outsideSockets,
  ports,
  secret,
  sibling,
  socket,
  temporary,
  token,
  workspace,
  ...more
} = JSON.parse(process.env["HOSTILE"] ?? "{}")

/** Each attempt twice: the caller gives the ring to the kernel, and a thread of the kernel looks at it. */
const both = (attempts) =>
  Object.entries(attempts).flatMap(([name, attempt]) => [
    [`${name} by io_uring`, [false, ...attempt]],
    [`${name} by a thread of io_uring`, [true, ...attempt]]
  ])

const own = (name) => join(temporary, name)
const file = join(outside, "kept.txt")
const git = join(workspace, ".git")

const byKind = {
  outside: both({
    "a write": ["write", file],
    "a new file": ["write", join(outside, "ring.txt")],
    "a truncation": ["truncate", file],
    "a removal": ["unlink", file],
    "a rename": ["rename", file, own("ring-taken")],
    "a hard link": ["link", file, own("ring-linked")],
    "a folder": ["folder", join(outside, "ring")],
    "a system file": ["write", "/etc/hosts"]
  }),
  unreadable: both({
    "a secret of the home": ["read", secret],
    "the Edge's token": ["read", token],
    "another run's file": ["read", sibling],
    "passwords of the system": ["read", "/etc/shadow"]
  }),
  protected: both({
    "a setting of Git": ["write", join(git, "config")],
    "a hook": ["write", join(git, "hooks", "pre-push")],
    "a rename of the repository": ["rename", git, join(workspace, "ring-git")]
  }),
  executed: both({
    "settings of the runtime": ["write", join(home, ".agent", "settings.json")]
  }),
  network: both({
    "a port of the host": ["tcp", String(ports.tcp4)],
    "an abstract socket of the host": ["abstract", more.abstract],
    "a socket of containers": ["unix", outsideSockets.docker],
    "a socket outside": ["unix", socket]
  }),
  // Where the kernel has no io_uring for this program, all others fail for that reason.
  allowed: hasRing
    ? both({
        "a file of its own": ["write", own("ring-note")],
        "a read of its own": ["read", own("ring-note")]
      })
    : []
}

const all = Object.values(byKind).flat()
/** One process makes all attempts, before the others are made. */
const outcomes = () => {
  try {
    const list = JSON.stringify(all.map(([, attempt]) => attempt))
    const options = { stdio: ["ignore", "pipe", "ignore"], timeout: 20_000 }
    return JSON.parse(execFileSync("python3", [join(import.meta.dirname, "ring.py"), list], options))
  } catch (cause) {
    return all.map(() => String(cause))
  }
}
const found = new Map(outcomes().map((outcome, index) => [all[index], outcome]))

/** By kind, as the other attempts. */
export const ringAttempts = Object.fromEntries(
  Object.entries(byKind).map(([kind, each]) => [
    kind,
    Object.fromEntries(
      each.map((attempt) => [
        attempt[0],
        () => {
          if (found.get(attempt) !== "succeeded") throw new Error(found.get(attempt))
        }
      ])
    )
  ])
)
