/** Said by every service and the command line of one build. */
export const VERSION = "0.1.0"
