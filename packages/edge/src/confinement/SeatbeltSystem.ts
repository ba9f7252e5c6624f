/**
 * What every confined program of macOS needs from the system: its own processes, facts about the machine, user names, terminals, and the
 * folders of the system. Data.
 *
 * Not listed: the Keychain, the service that verifies certificates, DNS, Apple events, launch services, the clipboard, and facts about other
 * processes.
 */
const names = (filter: string, values: ReadonlyArray<string>): ReadonlyArray<string> =>
  values.map((value) => `(${filter} "${value}")`)

const FACTS = [
  ...names("sysctl-name-prefix", ["hw.", "machdep.cpu.", "kern.os", "net.routetable."]),
  ...names("sysctl-name", [
    "kern.argmax",
    "kern.hostname",
    "kern.maxfiles",
    "kern.maxfilesperproc",
    "kern.maxproc",
    "kern.ngroups",
    "kern.secure_kernel",
    "kern.tcsm_available",
    "kern.tcsm_enable",
    "kern.usrstack64",
    "kern.version",
    "machdep.ptrauth_enabled",
    "security.mac.lockdown_mode_state",
    "sysctl.proc_cputype",
    "vm.loadavg"
  ])
]

/** Services: names of users and groups, preferences, logs, and the folder for temporary files. */
const SERVICES = names("global-name", [
  "com.apple.system.opendirectoryd.libinfo",
  "com.apple.system.opendirectoryd.membership",
  "com.apple.cfprefsd.agent",
  "com.apple.cfprefsd.daemon",
  "com.apple.system.logger",
  "com.apple.logd",
  "com.apple.system.notification_center",
  "com.apple.bsd.dirhelper"
])

/** Folders that programs read. */
export const seatbeltFolders: ReadonlyArray<string> = [
  "/usr",
  "/bin",
  "/sbin",
  "/System",
  "/Library/Apple",
  "/Library/Developer",
  "/Library/Frameworks",
  "/Library/Java",
  "/Applications/Xcode.app",
  "/opt",
  "/nix/store",
  "/private/etc",
  "/private/var/select",
  "/private/var/db/timezone",
  "/private/var/db/dyld",
  "/private/var/db/xcode_select_link"
]

const usedDevices = names("literal", [
  "/dev/null",
  "/dev/zero",
  "/dev/tty",
  "/dev/ptmx",
  "/dev/dtracehelper"
]).join(" ")

/** Rules for the system, without those for folders. */
export const seatbeltSystem: ReadonlyArray<string> = [
  "(version 1)",
  "(deny default)",
  "(allow process-exec process-fork)",
  "(allow signal process-info* (target same-sandbox))",
  `(allow sysctl-read ${FACTS.join(" ")})`,
  '(allow sysctl-write (sysctl-name "kern.tcsm_enable"))',
  `(allow mach-lookup ${SERVICES.join(" ")})`,
  "(allow user-preference-read)",
  '(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center") (ipc-posix-name-prefix "apple.cfprefs."))',
  "(allow ipc-posix-sem)",
  "(allow pseudo-tty)",
  '(allow file-read* (literal "/") (literal "/dev/random") (literal "/dev/urandom") (subpath "/dev/fd"))',
  `(allow file-read* file-write-data file-ioctl ${usedDevices})`,
  '(allow file-read* file-write-data file-ioctl (regex #"^/dev/ttys[0-9]+$"))',
  '(allow file-write-data (subpath "/dev/fd"))',
  '(allow file-read-metadata (literal "/etc") (literal "/tmp") (literal "/var") (literal "/dev"))'
]
