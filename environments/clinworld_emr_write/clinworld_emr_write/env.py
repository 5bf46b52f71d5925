"""The environment under verifiers 0.4: one agent, played in this process. The defaults without it are a hosted machine."""

import verifiers.v1 as vf

from .harness import EmrHarnessConfig


class EmrEnvConfig(vf.SingleAgentEnvConfig):
    """One seat; `max_turns` bounds a conversation with tools."""

    agent: vf.AgentConfig = vf.AgentConfig(
        runtime=vf.SubprocessConfig(), harness=EmrHarnessConfig(id="clinworld_emr_write"), max_turns=12, network_notice=False
    )


class EmrEnv(vf.SingleAgentEnv, vf.Env[EmrEnvConfig]):
    """One agent, one record system."""
