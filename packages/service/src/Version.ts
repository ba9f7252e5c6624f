/** Version of this build, the same for all services and the command line. */
export const VERSION = "0.3.0"
